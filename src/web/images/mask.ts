// A mask on a canvas: opaque where the image is drawn anew. It is sent as white on black.

export interface Point {
  x: number;
  y: number;
}

export interface Brush {
  /** Diameter. */
  size: number;
  erases: boolean;
}

/** Draws a line with round ends between two points, or a dot where they are equal; `size` is in pixels of the image. */
export function stroke(canvas: HTMLCanvasElement, from: Point, to: Point, { size, erases }: Brush): void {
  const context = contextOf(canvas, erases);
  context.lineWidth = size;
  context.lineCap = 'round';
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.lineTo(to.x, to.y);
  context.stroke();
}

export function fillRectangle(
  canvas: HTMLCanvasElement,
  { x, y, width, height }: Point & { width: number; height: number },
  erases: boolean,
): void {
  contextOf(canvas, erases).fillRect(x, y, width, height);
}

function contextOf(canvas: HTMLCanvasElement, erases: boolean): CanvasRenderingContext2D {
  const context = canvas.getContext('2d', { willReadFrequently: true })!;
  context.globalCompositeOperation = erases ? 'destination-out' : 'source-over';
  context.fillStyle = '#ff3b6b';
  context.strokeStyle = '#ff3b6b';
  return context;
}

/** Share of the canvas that is painted, from 0 to 1. */
export function coverOf(canvas: HTMLCanvasElement): number {
  const { data } = pixelsOf(canvas);
  let painted = 0;
  for (let at = 3; at < data.length; at += 4) if (data[at]! > 127) painted += 1;
  return painted / (canvas.width * canvas.height);
}

function pixelsOf(canvas: HTMLCanvasElement): ImageData {
  return canvas
    .getContext('2d', { willReadFrequently: true })!
    .getImageData(0, 0, canvas.width, canvas.height);
}

/** A PNG that is white where the canvas is painted and black elsewhere. */
export function maskOf(canvas: HTMLCanvasElement): Promise<Blob> {
  const pixels = pixelsOf(canvas);
  for (let at = 0; at < pixels.data.length; at += 4)
    pixels.data.fill(pixels.data[at + 3]! > 127 ? 255 : 0, at, at + 3).fill(255, at + 3, at + 4);
  const plain = document.createElement('canvas');
  plain.width = canvas.width;
  plain.height = canvas.height;
  plain.getContext('2d')!.putImageData(pixels, 0, 0);
  return new Promise((resolve) => plain.toBlob((blob) => resolve(blob!), 'image/png'));
}

/** Gives the canvas the size of an image, and paints it as an earlier mask says. */
export async function startMask(canvas: HTMLCanvasElement, image: Blob, mask?: Blob): Promise<void> {
  const { width, height } = await createImageBitmap(image);
  canvas.width = width;
  canvas.height = height;
  if (!mask) return;
  const context = contextOf(canvas, false);
  context.drawImage(await createImageBitmap(mask), 0, 0, width, height);
  const pixels = context.getImageData(0, 0, width, height);
  for (let at = 0; at < pixels.data.length; at += 4)
    pixels.data.set([255, 59, 107, pixels.data[at]! > 127 ? 255 : 0], at);
  context.putImageData(pixels, 0, 0);
}
