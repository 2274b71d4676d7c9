// Biases of heads by distance, for attention without sinks: a kernel has at most 8 storage buffers. Keys that are `farthest` tokens away and those
// beyond share a bias.
@group(0) @binding(1) var<storage, read> biases: array<f32>; // [2 · farthest + 1, heads]

fn biases_of(head: u32, at: u32, tokens: vec4u) -> vec4f {
  let farthest = i32(args.farthest);
  let rows = vec4u(clamp(vec4i(tokens) - i32(at), vec4i(-farthest), vec4i(farthest)) + farthest);
  let i = rows * args.bias_columns + head;
  return vec4f(biases[i.x], biases[i.y], biases[i.z], biases[i.w]);
}
