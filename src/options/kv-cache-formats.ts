// Formats of the KV cache.

/** Formats of keys and values: floats, or codes with a factor for each token and head. */
export const KV_CACHE_FORMATS = ['f16', 'f32', 'fp8_e4m3', 'int8', 'int4'] as const;

/** Format of keys and values in the KV cache. */
export type KvCacheFormat = (typeof KV_CACHE_FORMATS)[number];
