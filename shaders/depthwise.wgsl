// Depthwise convolution of NHWC images with zero padding: each channel has a kernel of its own. A lane computes four channels of RUN
// pixels in a row, so that it reads a kernel once for all of them. Gated: the first half of the channels times SiLU of the second half.
#import "lib/channel-bias.$BIAS.wgsl"

const GATED = false;
const STRIDE = 1u; // pixels of x from one of y to the next
const WORKGROUP = 64u;
const RUN = 8u;

struct Args {
  channels: u32, // channels of x
  height: u32,   // of x
  width: u32,
  y_height: u32,
  y_width: u32,
  kernel: u32,
  pad: u32,      // zeros before the first pixel
  taps: u32,     // values from one channel's kernel to the next
  x_quads: u32,  // quads from one pixel to the next
  y_quads: u32,
  halves: u32,   // quads of y that hold channels; where it is gated, quads before the gates
  first: u32,    // rows of pixels of y [first, last), counted over all images
  last: u32,
  x_first: u32,  // pixels before the binding
  y_first: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

// The weights of four channels at a tap. Channels beyond the last one meet zeros of x.
fn weights_at(quad: u32, tap: u32) -> vec4f {
  var v: vec4f;
  for (var i = 0u; i < 4u; i++) {
    v[i] = weight[min(4u * quad + i, args.channels - 1u) * args.taps + tap];
  }
  return v;
}

// Four channels of the pixels from `column` on.
fn convolve(quad: u32, row: u32, column: u32) -> array<vec4f, RUN> {
  var sums = array<vec4f, RUN>();
  let above = row % args.y_height * STRIDE; // rows of the image before the first tap, padding included
  let image = row / args.y_height * args.height;
  for (var i = 0u; i < args.kernel; i++) {
    if (above + i < args.pad || above + i >= args.height + args.pad) {
      continue;
    }
    let begins = (image + above + i - args.pad) * args.width - args.x_first;
    for (var j = 0u; j < args.kernel; j++) {
      let w = weights_at(quad, i * args.kernel + j);
      for (var p = 0u; p < RUN; p++) {
        let at = (column + p) * STRIDE + j;
        if (at >= args.pad && at < args.width + args.pad) {
          sums[p] += w * x[(begins + at - args.pad) * args.x_quads + quad];
        }
      }
    }
  }
  let outside = vec4u(4u * quad) + vec4u(0u, 1u, 2u, 3u) >= vec4u(args.channels);
  for (var p = 0u; p < RUN; p++) {
    sums[p] = select(biased(sums[p], quad), vec4f(0.0), outside);
  }
  return sums;
}

fn silu(v: vec4f) -> vec4f {
  return v / (1.0 + exp(min(-v, vec4f(80.0)))); // clamped, because exp overflows f32 far below zero
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  let quad = id.x;
  if (quad >= args.y_quads) {
    return;
  }
  let across = (args.y_width + RUN - 1u) / RUN;
  for (var run = id.y; run < (args.last - args.first) * across; run += workgroups.y) {
    let row = args.first + run / across;
    let column = run % across * RUN;
    var sums = array<vec4f, RUN>();
    if (quad < args.halves) {
      sums = convolve(quad, row, column);
      if (GATED) {
        let gates = convolve(args.halves + quad, row, column);
        for (var p = 0u; p < RUN; p++) {
          sums[p] *= silu(gates[p]);
        }
      }
    }
    for (var p = 0u; p < min(RUN, args.y_width - column); p++) {
      y[(row * args.y_width + column + p - args.y_first) * args.y_quads + quad] = sums[p];
    }
  }
}
