// y = silu(gate) · up; a lane's four columns are two of the gate and the same two of up.
@group(0) @binding(4) var<storage, read_write> y: array<vec2f>;

fn store(row: u32, quad: u32, acc: vec4f) {
  let gate = acc.xy;
  y[row * args.y_quads + quad] = gate / (1.0 + exp(-gate)) * acc.zw;
}
