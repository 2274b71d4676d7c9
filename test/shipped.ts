// Replies of the shipped models that every adapter and both faces give: greedy token ids, and an image within 1/255. Tests in Node and in
// pages compare with them.

import { fileURLToPath } from 'node:url';

/** The greedy token ids of replies of models/svc-chat-mini, at most REPLY_TOKENS of them. */
export const REPLIES: readonly { question: string; ids: readonly number[] }[] = [
  { question: 'Hello!', ids: [881, 0, 1403, 1419, 1461, 13, 1593, 1712, 1405, 1460, 1411, 1404, 30, 2041] },
  { question: 'What is the capital of France?', ids: [47, 272, 258, 13, 2041] },
  {
    question: 'Tell me a short story.',
    ids: [
      560, 220, 387, 67, 1588, 11, 220, 1116, 287, 1400, 1551, 1433, 1411, 1400, 1624, 13, 220, 1116, 287,
      1433, 1411, 1400, 1624, 1402, 1503, 1398, 1575, 1690, 13, 1541, 220, 1116,
    ],
  },
];
export const REPLY_TOKENS = 32;

/** A small image of models/svc-scenes-mini, and the request that draws it. */
export const SCENE = {
  request: {
    prompt: 'a red balloon over snowy mountains at sunset',
    seed: 3,
    steps: 4,
    width: 64,
    height: 64,
  },
  path: fileURLToPath(new URL('golden/shipped-scene.png', import.meta.url)),
} as const;

/** A small clip of models/svc-clips-mini, its frames below each other, and the request that draws it. */
export const CLIP = {
  request: {
    prompt: 'a red balloon rises over the sea at sunset, zebra',
    seed: 1,
    steps: 3,
    width: 64,
    height: 64,
    frames: 5,
  },
  path: fileURLToPath(new URL('golden/shipped-clip.png', import.meta.url)),
} as const;
