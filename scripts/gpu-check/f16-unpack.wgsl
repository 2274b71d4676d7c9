// Halves as unpack2x16float gives them, and times 1,024.
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> sink: array<f32>;

@compute @workgroup_size(4)
fn main(@builtin(local_invocation_index) i: u32) {
  let half = unpack2x16float(source[i]).x;
  sink[2u * i] = half;
  sink[2u * i + 1u] = half * 1024.0;
}
