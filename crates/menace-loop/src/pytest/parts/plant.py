def plant(path, content):
    """Writes a file that the call finds."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
