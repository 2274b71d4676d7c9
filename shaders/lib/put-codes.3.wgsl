// 32 codes of 3 bits as lib/codes.3.wgsl reads them.
#import "lib/put-planes.wgsl"
const WORDS = 3u;

fn put_codes(at: u32, first: u32) {
  put_plane(at, first, 0u, 2u, 0u);
  put_plane(at, first, 2u, 1u, 2u);
}
