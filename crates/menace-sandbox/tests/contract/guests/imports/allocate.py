TAKEN = b"x" * (10 << 30)
