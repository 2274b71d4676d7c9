// 32 codes of 5 bits as lib/codes.5.wgsl reads them.
#import "lib/put-planes.wgsl"
const WORDS = 5u;

fn put_codes(at: u32, first: u32) {
  put_plane(at, first, 0u, 4u, 0u);
  put_plane(at, first, 4u, 1u, 4u);
}
