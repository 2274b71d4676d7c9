// Numbers that are loaded and stored, and times 2^24.
@group(0) @binding(0) var<storage, read> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> sink: array<f32>;

@compute @workgroup_size(4)
fn main(@builtin(local_invocation_index) i: u32) {
  let number = source[i];
  sink[2u * i] = number;
  sink[2u * i + 1u] = number * 16777216.0;
}
