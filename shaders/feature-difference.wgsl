// A divided difference of what a denoiser's blocks gave: (difference, kept) become (rate · (difference - kept), difference).
const WORKGROUP = 64u;

struct Args {
  all_quads: u32, // quads of the strip's rows
  index: u32,     // of the rate among the scalars
}

@group(0) @binding(0) var<storage, read> scalars: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> difference: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> kept: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let rate = scalars[args.index];
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    let latest = difference[i];
    difference[i] = rate * (latest - kept[i]);
    kept[i] = latest;
  }
}
