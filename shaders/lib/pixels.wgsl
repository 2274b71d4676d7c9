// Finds the pixels of a convolution's input that the taps of its kernel read for an output pixel.

const UPSAMPLED = false;
const EDGES = false; // whether a tap outside the image reads the nearest pixel of it, not zeros

struct Pixel {
  image: u32, // pixels of x before this image, minus those before the binding
  row: u32,   // row of the first tap; wraps round above the image
  column: u32,
}

fn locate(index: u32) -> Pixel {
  let pixel = min(index, args.last - 1u);
  let row = pixel / args.y_width;
  return Pixel(
    row / args.y_height * args.x_height * args.x_width - args.x_first,
    row % args.y_height * args.stride - args.pad,
    pixel % args.y_width * args.stride - args.pad,
  );
}

fn nearest(at: u32, size: u32) -> u32 {
  return u32(clamp(i32(at), 0, i32(size) - 1));
}

// Index in x of the pixel under a tap; ~0 outside the image.
fn under(pixel: Pixel, tap: u32) -> u32 {
  var row = pixel.row + tap / args.kernel;
  var column = pixel.column + tap % args.kernel;
  if (EDGES) {
    row = nearest(row, args.height);
    column = nearest(column, args.width);
  }
  let inside = row < args.height && column < args.width;
  if (UPSAMPLED) {
    row = row * args.x_height / args.height;
    column = column * args.x_width / args.width;
  }
  return select(0xffffffffu, (pixel.image + row * args.x_width + column) * args.x_quads, inside);
}
