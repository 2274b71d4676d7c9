// A checkpoint's values as they lie in the file: E4M3, four a word. Their scales stand in another tensor.
#import "lib/stored.wgsl"
const VALUES = 128u;
const BYTES = 128u;

fn code_at(at: u32, i: u32) -> u32 {
  return byte_at(at + i);
}

fn weight_at(at: u32, i: u32) -> f32 {
  let code = code_at(at, i);
  return unpack2x16float(((code & 0x7fu) << 7u) | ((code & 0x80u) << 8u)).x * 256.0;
}
