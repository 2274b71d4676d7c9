// Heads are rotated.
@group(0) @binding(1) var<storage, read> rope: array<vec4f>; // cos and sin of two consecutive angles

fn turn_of(row: u32, d: u32) -> vec4f {
  return rope[row * args.rope_quads + d / 2u];
}
