// The size of a result that a network enlarges.

interface Drawn {
  width: number;
  height: number;
  /** null: it is not enlarged. */
  upscalingScale: number | null;
}

export function upscaledSize({ width, height, upscalingScale }: Drawn): { width: number; height: number } {
  const scale = upscalingScale ?? 1;
  return { width: Math.round(scale * width), height: Math.round(scale * height) };
}
