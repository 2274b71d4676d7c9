// Arguments of cumulative-sums.wgsl and cumulative-norm.wgsl, and sums over all rows up to one.
#import "lib/four-sums.wgsl"

struct Args {
  first_row: u32,     // row that the bound part of x begins with
  quads: u32,         // quads of a row
  place_quads: u32,   // quads of a place in a row
  channel_quads: u32, // quads of a place that hold channels
  values: f32,        // values of a row
  first: u32,         // the first row that counts
  end: u32,           // the row behind the last that counts
  eps: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read> sums: array<f32>;

fn counts(row: u32) -> bool {
  return row >= args.first && row < args.end;
}

fn is_channel(i: u32) -> bool {
  return i % args.place_quads < args.channel_quads;
}

// The mean of all values of the rows from the first to this one, of the sums of rows.
fn mean_of_sums(row: u32, local: u32) -> f32 {
  var sum = vec4f(0.0);
  for (var i = args.first + local; i <= row; i += LANES) {
    sum.x += sums[i];
  }
  return sums_of_lanes(sum, local).x / (args.values * f32(row - args.first + 1u));
}
