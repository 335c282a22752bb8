with open("big.bin", "wb", buffering=0) as file:
    for _ in range(10 << 10):
        file.write(b"x" * (1 << 20))
