"""Records in files and back: JSON and Parquet by one versioned schema, data frames, shap."""
