// The second of GroupNorm's three passes: a workgroup merges the slabs of one image and group into the mean and the scale, weight /
// sqrt(variance + eps), of each channel. Partial sums are added in order on every adapter.
const WORKGROUP = 64u;

struct Args {
  stride: u32,      // channels from one pixel to the next
  channels: u32,
  group_channels: u32,
  pixels: u32,      // pixels of an image
  slab_pixels: u32,
  slabs: u32,       // slabs of an image
  eps: f32,
}

@group(0) @binding(0) var<storage, read> slabs: array<f32>; // [image][slab][mean, deviations][channels]
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // [image][mean, scale][channels]

var<workgroup> partial: array<f32, WORKGROUP>;

// `count`: how many invocations have a value; those of the others are zero.
fn sum_up(value: f32, local: u32, count: u32) -> f32 {
  partial[local] = value;
  workgroupBarrier();
  var sum = 0.0;
  for (var i = 0u; i < min(count, WORKGROUP); i++) {
    sum += partial[i];
  }
  workgroupBarrier();
  return sum;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let channel0 = workgroup.x * args.group_channels;
  let image = workgroup.y;
  let from_image = image * args.slabs * 2u * args.stride;
  let items = args.slabs * args.group_channels;
  let count = f32(args.pixels * args.group_channels);
  let pivot = slabs[from_image + channel0];

  var sum = 0.0;
  for (var i = local; i < items; i += WORKGROUP) {
    let slab = i / args.group_channels;
    let at = from_image + slab * 2u * args.stride + channel0 + i % args.group_channels;
    sum += f32(min(args.slab_pixels, args.pixels - slab * args.slab_pixels)) * (slabs[at] - pivot);
  }
  let mean = pivot + sum_up(sum, local, items) / count;

  var deviations = 0.0;
  for (var i = local; i < items; i += WORKGROUP) {
    let slab = i / args.group_channels;
    let at = from_image + slab * 2u * args.stride + channel0 + i % args.group_channels;
    let d = slabs[at] - mean;
    deviations += slabs[at + args.stride] + f32(min(args.slab_pixels, args.pixels - slab * args.slab_pixels)) * d * d;
  }
  let scale = inverseSqrt(sum_up(deviations, local, items) / count + args.eps);

  // The last group also writes zeros into the padding.
  let is_last = channel0 + args.group_channels == args.channels;
  let end = select(channel0 + args.group_channels, args.stride, is_last);
  for (var channel = channel0 + local; channel < end; channel += WORKGROUP) {
    let inside = channel < args.channels;
    let to = image * 2u * args.stride + channel;
    y[to] = select(0.0, mean, inside);
    y[to + args.stride] = select(0.0, scale * weight[channel], inside);
  }
}
