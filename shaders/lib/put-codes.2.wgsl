// 32 codes of 2 bits as lib/codes.2.wgsl reads them.
#import "lib/put-planes.wgsl"
const WORDS = 2u;

fn put_codes(at: u32, first: u32) {
  put_plane(at, first, 0u, 2u, 0u);
}
