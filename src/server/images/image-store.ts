// Images requested as URLs: they stay in memory for an hour, and the oldest are dropped first if they take too much space.

export interface StoredImage {
  bytes: Uint8Array;
  /** MIME type. */
  type: string;
}

export type ImageStore = ReturnType<typeof createImageStore>;

/** Milliseconds for which an image is kept. */
export const IMAGE_LIFETIME = 3_600_000;
export const MOST_BYTES = 256 * 2 ** 20;

export function createImageStore(mostBytes = MOST_BYTES, lifetime = IMAGE_LIFETIME) {
  /** Images by id, in the order of their arrival. */
  const kept = new Map<string, StoredImage & { until: number }>();
  let bytes = 0;
  const drop = (id: string): void => {
    bytes -= kept.get(id)?.bytes.length ?? 0;
    kept.delete(id);
  };
  const expire = (): void => {
    for (const [id, { until }] of kept) {
      if (until > Date.now()) return;
      drop(id);
    }
  };
  // The timer frees memory also while no requests arrive.
  const timer = setInterval(expire, Math.min(lifetime, 60_000));
  timer.unref();

  return {
    keep(id: string, image: StoredImage): void {
      kept.set(id, { ...image, until: Date.now() + lifetime });
      bytes += image.bytes.length;
      // The newest image stays, however large it is.
      for (const old of kept.keys()) {
        if (bytes <= mostBytes || old === id) break;
        drop(old);
      }
    },
    /** Returns an image; null if it never existed or has been dropped. */
    find(id: string): StoredImage | null {
      expire();
      return kept.get(id) ?? null;
    },
  };
}
