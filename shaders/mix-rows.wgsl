// y[row] = Σ shares[row, tap] · x[sources[row, tap]], tap by tap.
const WORKGROUP = 64u;

struct Args {
  quads: u32,      // quads of columns per row
  all_quads: u32,  // quads of the strip's rows
  taps: u32,
  tap_stride: u32, // values from one row of sources and of shares to the next
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> sources: array<u32>;
@group(0) @binding(2) var<storage, read> shares: array<f32>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    let first = i / args.quads * args.tap_stride;
    var sum = vec4f();
    for (var tap = first; tap < first + args.taps; tap++) {
      sum += shares[tap] * x[sources[tap] * args.quads + i % args.quads];
    }
    y[i] = sum;
  }
}
