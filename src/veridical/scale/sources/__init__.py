"""Where rows come from: memory, files, and blocks of either."""
