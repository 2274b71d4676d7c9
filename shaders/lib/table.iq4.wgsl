// The 16 values of GGUF's IQ4_NL and IQ4_XS plus 128, a byte each: -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89 and 113.
const VALUES_0 = 0x3f2d1801u;
const VALUES_4 = 0x766a5d4fu;
const VALUES_8 = 0xa6998d81u;
const VALUES_12 = 0xf1d9c5b5u;

fn table_value(code: u32) -> f32 {
  let word = select(select(VALUES_0, VALUES_4, (code & 4u) != 0u), select(VALUES_8, VALUES_12, (code & 4u) != 0u), code > 7u);
  return f32((word >> (8u * (code & 3u))) & 255u) - 128.0;
}
