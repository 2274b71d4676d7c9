// Arguments and table of both kernels of the short convolution, and which of x's columns are convolved.
struct Args {
  columns: u32,
  quads: u32,       // quads of a row of y, and of a row that a slot keeps
  taps: u32,
  tap_quads: u32,   // quads from one column's taps to the next's
  x_quads: u32,     // quads from one row of x to the next
  slot_quads: u32,  // quads of a slot
  groups: u32,      // groups of columns in x, each of which has a run of the first columns of y, of the second and of the third
  group_quads: u32, // quads from one group to the next
  first_run: u32,   // quads of each run
  second_run: u32,
  third_run: u32,
  first_quad: u32,  // quads of a row of x before the columns
  first_factor: f32, // factors on the columns of each run
  second_factor: f32,
  third_factor: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(5) var<storage, read> sequences: array<Sequence>;

// Quad of x for a quad of y. Padding is zero, whatever follows in x.
fn input(row: u32, quad: u32) -> vec4f {
  if (4u * quad >= args.columns) {
    return vec4f(0.0);
  }
  return factor(quad) * x[row * args.x_quads + args.first_quad + source(quad)];
}

fn factor(quad: u32) -> f32 {
  let second = args.groups * args.first_run;
  let third = second + args.groups * args.second_run;
  return select(select(args.third_factor, args.second_factor, quad < third), args.first_factor, quad < second);
}

fn source(quad: u32) -> u32 {
  let second = args.groups * args.first_run;
  let third = second + args.groups * args.second_run;
  if (quad < second) {
    return quad / args.first_run * args.group_quads + quad % args.first_run;
  }
  if (quad < third) {
    let at = quad - second;
    return at / args.second_run * args.group_quads + args.first_run + at % args.second_run;
  }
  let at = quad - third;
  return at / args.third_run * args.group_quads + args.first_run + args.second_run + at % args.third_run;
}
