"""What can be explained, made one Model with checked outputs: functions, estimators, networks; and targets."""
