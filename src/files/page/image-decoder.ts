// The first image of a file as RGBA. createImageBitmap decodes, because its pixels equal those of libvips; ImageDecoder's frames of JPEG
// and lossy WebP files do not, as their colour is interpolated in another way.

import { type ImageHeader, withoutOrientation } from '../image/image-header.ts';
import type { Rgba } from '../image/rgba.ts';

/** Rows are in the order of the file. A file with an ICC profile is converted to sRGB; other statements about its colours are ignored. */
export async function decodeRgba(file: Uint8Array, header: ImageHeader): Promise<Rgba> {
  const bytes = withoutOrientation(file, header) as Uint8Array<ArrayBuffer>;
  const bitmap = await createImageBitmap(new Blob([bytes]), {
    colorSpaceConversion: header.hasProfile ? 'default' : 'none',
    premultiplyAlpha: 'none',
  });
  try {
    const rgba = readOnCanvas(bitmap);
    return isTranslucent(rgba) ? (readOnTexture(bitmap) ?? rgba) : rgba;
  } finally {
    bitmap.close();
  }
}

/** Reads exact colours where alpha is 0 or 255: a canvas stores colours multiplied by alpha. */
function readOnCanvas(bitmap: ImageBitmap): Rgba {
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  if (context === null) throw new Error(`the browser has no canvas of ${width} × ${height} pixels`);
  context.drawImage(bitmap, 0, 0);
  return { width, height, data: new Uint8Array(context.getImageData(0, 0, width, height).data.buffer) };
}

function isTranslucent({ data }: Rgba): boolean {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 0 && data[at] !== 255) return true;
  return false;
}

/** Reads exact colours for each alpha; null without WebGL, or if the image is larger than a texture may be. */
function readOnTexture(bitmap: ImageBitmap): Rgba | null {
  const { width, height } = bitmap;
  const gl = new OffscreenCanvas(1, 1).getContext('webgl2');
  if (gl === null) return null;
  try {
    if (Math.max(width, height) > (gl.getParameter(gl.MAX_TEXTURE_SIZE) as number)) return null;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE, bitmap);
    gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    const data = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, data);
    return gl.getError() === gl.NO_ERROR ? { width, height, data } : null;
  } finally {
    gl.getExtension('WEBGL_lose_context')?.loseContext();
  }
}
