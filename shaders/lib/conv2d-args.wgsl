// Arguments of convolutions, and the result.

struct Args {
  x_quads: u32,       // elements from one pixel of x to the next
  y_quads: u32,
  image_quads: u32,   // quads from the vector of one image to that of the next
  image_first: u32,   // quad at which the vector begins
  columns: u32,       // output channels
  channel_quads: u32, // quads that hold channels of x
  tap_blocks: u32,    // blocks of 32 channels per tap
  blocks: u32,        // blocks of 32 k's of all taps
  kernel: u32,        // side of the kernel, 3 or 1
  stride: u32,
  pad: u32,           // rows and columns of zeros above and to the left
  x_height: u32,
  x_width: u32,
  height: u32,        // height of x as the taps see it, after upsampling
  width: u32,
  y_height: u32,
  y_width: u32,
  first: u32,         // pixels [first, last) of y, counted over all images
  last: u32,
  x_first: u32,       // pixels of x before the binding
  y_first: u32,
  first_group: u32,   // groups of 32 columns before this window
  groups: u32,        // groups in this window
}

@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
