// Arguments and table of both kernels of the short convolution.
struct Args {
  quads: u32, // quads of a row
  taps: u32,
  tap_quads: u32, // quads from one column's taps to the next's
}

@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(5) var<storage, read> sequences: array<Sequence>;
