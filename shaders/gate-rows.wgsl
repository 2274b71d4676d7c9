// x = x · σ(gate of the row), or · the gate, in place.
const WORKGROUP = 64u;
const SIGMOID = true;

struct Args {
  quads: u32,       // quads of columns of a row of x
  gate_stride: u32, // values from one row of gate to the next
}

@group(0) @binding(0) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> gate: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < args.quads) {
    let own = gate[id.y * args.gate_stride];
    if (SIGMOID) {
      x[id.y * args.quads + id.x] /= 1.0 + exp(min(-own, 80.0));
    } else {
      x[id.y * args.quads + id.x] *= own;
    }
  }
}
