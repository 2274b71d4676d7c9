// Goldens of videos:  npm install --no-save @mediabunny/server && node scripts/reference/media_videos.mjs
//
// test/golden/media-videos.json: small files (base64) of every container and codec. Frame t of 20, at t/8 s, is red 12·t, blue 255 - 12·t and
// green 4·x in column x, of 50 × 38 pixels as stored; `rotation`: degrees by which the container turns them.

import { writeFileSync } from 'node:fs';
import { registerMediabunnyServer } from '@mediabunny/server';
import * as mediabunny from 'mediabunny';

const { BufferTarget, Mp4OutputFormat, MovOutputFormat, MpegTsOutputFormat, WebMOutputFormat, Output, QUALITY_HIGH, VideoSample, VideoSampleSource } = mediabunny;

const [WIDTH, HEIGHT, FRAMES, RATE] = [50, 38, 20, 8];

const CASES = [
  ['h264.mp4', new Mp4OutputFormat(), 'avc', 0],
  ['h265.mp4', new Mp4OutputFormat(), 'hevc', 0],
  ['av1.mp4', new Mp4OutputFormat(), 'av1', 0],
  ['vp8.webm', new WebMOutputFormat(), 'vp8', 0],
  ['vp9.webm', new WebMOutputFormat(), 'vp9', 0],
  ['turned.mov', new MovOutputFormat(), 'avc', 90],
  ['h264.ts', new MpegTsOutputFormat(), 'avc', 0],
];

function frame(t) {
  const pixels = new Uint8Array(4 * WIDTH * HEIGHT);
  for (let at = 0; at < WIDTH * HEIGHT; at++)
    pixels.set([12 * t, 4 * (at % WIDTH), 255 - 12 * t, 255], 4 * at);
  return new VideoSample(pixels, {
    format: 'RGBA',
    codedWidth: WIDTH,
    codedHeight: HEIGHT,
    timestamp: t / RATE,
    duration: 1 / RATE,
  });
}

async function encode(format, codec, rotation) {
  const output = new Output({ format, target: new BufferTarget() });
  const source = new VideoSampleSource({ codec, bitrate: QUALITY_HIGH });
  output.addVideoTrack(source, { frameRate: RATE, rotation });
  await output.start();
  for (let t = 0; t < FRAMES; t++) {
    const sample = frame(t);
    await source.add(sample);
    sample.close();
  }
  await output.finalize();
  return Buffer.from(output.target.buffer).toString('base64');
}

registerMediabunnyServer({ hardwareContext: null });
const cases = [];
for (const [name, format, codec, rotation] of CASES)
  cases.push({ name, rotation, file: await encode(format, codec, rotation) });
const path = new URL('../../test/golden/media-videos.json', import.meta.url);
writeFileSync(path, `[\n${cases.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`);
process.exit(0);
