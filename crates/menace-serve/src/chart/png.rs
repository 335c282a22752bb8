//! The PNG format, as little of it as pictures of few colours need.

use miniz_oxide::deflate::compress_to_vec_zlib;

const PNG_SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
/// Quick, and charts become small with any.
const COMPRESSION_LEVEL: u8 = 6;

/// Three bytes for each pixel, line by line.
pub fn encode(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let mut out = PNG_SIGNATURE.to_vec();
    let mut head = Vec::with_capacity(13);
    head.extend(width.to_be_bytes());
    head.extend(height.to_be_bytes());
    // Eight bits, true colour, the only compression and filters there are, not interlaced.
    head.extend([8, 2, 0, 0, 0]);
    write_chunk(&mut out, *b"IHDR", &head);
    let line = 3 * width as usize;
    let mut filtered = Vec::with_capacity(pixels.len() + height as usize);
    for row in pixels.chunks(line.max(1)) {
        filtered.push(0);
        filtered.extend_from_slice(row);
    }
    write_chunk(&mut out, *b"IDAT", &compress_to_vec_zlib(&filtered, COMPRESSION_LEVEL));
    write_chunk(&mut out, *b"IEND", &[]);
    out
}

fn write_chunk(out: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    out.extend(length.to_be_bytes());
    let start = out.len();
    out.extend(kind);
    out.extend_from_slice(data);
    let sum = crc32(&out[start..]);
    out.extend(sum.to_be_bytes());
}

/// CRC-32 as PNG has it. Bit by bit: charts are small once they are compressed.
fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn pixels_come_back() {
        let pixels = [255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9];
        let png = encode(2, 2, &pixels);
        assert_eq!(&png[12..16], b"IHDR");
        let data = png.windows(4).position(|window| window == b"IDAT").unwrap();
        let length = u32::from_be_bytes(png[data - 4..data].try_into().unwrap()) as usize;
        let lines = miniz_oxide::inflate::decompress_to_vec_zlib(&png[data + 4..data + 4 + length]);
        assert_eq!(lines.unwrap(), [&[0][..], &pixels[..6], &[0], &pixels[6..]].concat());
    }
}
