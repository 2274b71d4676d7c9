// Replies of the shipped models that every adapter and both faces give: greedy token ids, and an image within 1/255. Tests in Node and in
// pages compare with them.

import { fileURLToPath } from 'node:url';

/** The greedy token ids of replies of models/svc-chat-mini, at most REPLY_TOKENS of them. */
export const REPLIES: readonly { question: string; ids: readonly number[] }[] = [
  { question: 'Hello!', ids: [881, 0, 1403, 1419, 1461, 13, 1580, 1426, 1403, 1484, 30, 2041] },
  {
    question: 'What is the capital of France?',
    ids: [47, 272, 258, 1399, 1400, 1500, 1412, 1816, 582, 330, 13, 2041],
  },
  {
    question: 'Tell me a short story.',
    ids: [
      560, 1425, 1398, 1517, 1438, 220, 1272, 68, 1503, 1398, 1573, 1680, 13, 1635, 1425, 220, 1272, 68, 1527,
      1435, 1398, 1573, 1680, 11, 1507, 1479, 1413, 1528, 13, 220, 1272, 68,
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
