// Restores the region outside of a mask: latents = mask · latents + (1 − mask) · (a · image + b · noise), in place.
const WORKGROUP = 64u;

struct Args {
  quads: u32,       // quads of latents
  row_quads: u32,
  mask_stride: u32, // values from one pixel of the mask to the next
  image_scalar: u32, // index of a among the step's scalars
  noise_scalar: u32, // index of b among the step's scalars
}

@group(0) @binding(0) var<storage, read> image: array<vec4f>;
@group(0) @binding(1) var<storage, read> noise: array<vec4f>;
@group(0) @binding(2) var<storage, read> mask: array<f32>;
@group(0) @binding(3) var<storage, read> scalars: array<f32>;
@group(0) @binding(4) var<uniform> args: Args;
@group(0) @binding(5) var<storage, read_write> latents: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let a = scalars[args.image_scalar];
  let b = scalars[args.noise_scalar];
  for (var i = id.x; i < args.quads; i += groups.x * WORKGROUP) {
    let known = a * image[i] + b * noise[i];
    let share = mask[(i / args.row_quads) * args.mask_stride];
    latents[i] = share * latents[i] + (1.0 - share) * known;
  }
}
