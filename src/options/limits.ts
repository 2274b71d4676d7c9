// Limits of settings, and defaults that several tables share.

/** Inclusive bounds; a single number is a maximum. */
export const LIMITS = {
  /** Bounds of a text model's options. */
  runningRequests: 256,
  leastTotalTokens: 64,
  /** A step that computes a draft and one token more has at most 16 rows for it. */
  draftTokens: 15,
  prefillChunk: { least: 16, most: 8192 },
  loras: 256,
  loraRank: 1024,
  /** The longest time that a timer takes, in milliseconds. */
  timeout: 2 ** 31 - 1,
  /** Bounds of a request for text. */
  choices: 128,
  /** Number of best tokens that the kernel of log probabilities returns. */
  logprobs: 20,
  stops: 16,
  stopIds: 256,
  biases: 1024,
  processors: 16,
  /** Tiles of an image; all grids up to it are compared. */
  tiles: 128,
  bannedWords: 1000,
  /** Bytes of all banned words together, in UTF-8. */
  bannedWordBytes: 8192,
  /** Bounds of a request for embeddings. */
  inputs: 2048,
  /** Bounds of a request for images: steps, pixels a side, guidance, images of one prompt. */
  steps: 1000,
  side: 16384,
  /** Far above useful guidance values, and far below the overflow of f32. */
  guidance: 1000,
  samples: 1000,
  /** How many times as wide results may be made by a network. */
  upscaling: 8,
  /** Frames of a clip: a minute at 16 a second. */
  frames: 961,
  /** Frames in a second of a clip. */
  frameRate: 240,
} as const;

export const DEFAULTS = {
  runningRequests: 16,
  queuedRequests: 128,
  draftTokens: 8,
  /** Models that a server has open at once, of those that it opens on demand. */
  openModels: 4,
  /** Bytes of the KV pages stored in files. */
  storedBytes: 10e9,
  adapters: 8,
  adapterRank: 64,
  /** Steps and guidance of an image whose model states none. */
  steps: 50,
  guidance: 7.5,
  /** Frames in a second of a clip whose model states none: most models of clips are trained for it. */
  frameRate: 16,
  /** Pixels of an image (8192 × 8192) and of the decoded frames of a video (768 of 1920 × 1080 fit); frames and seconds of a medium. */
  imagePixels: 2 ** 26,
  videoPixels: 2 ** 31,
  videoFrames: 20_000,
  mediaSeconds: 3600,
  /** Bytes of the media of one request, and milliseconds of fetching one. */
  mediaBytes: 256e6,
  mediaTimeout: 30_000,
  /** Milliseconds that the headers of a request may take to arrive, and its body beside what its bytes add. */
  receiveTime: 30_000,
  /** Milliseconds that running requests get to end when the server stops. */
  drainTime: 10_000,
  /** Milliseconds of decoding one medium: an hour of sound takes a minute or two. */
  mediaDecodeTimeout: 300_000,
} as const;
