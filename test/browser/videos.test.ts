// MP4 files that Node and a page write, as a page plays them: their size, duration and frames, and the colours of these.

import { expect } from 'vitest';
import { encodeVideo } from '../../src/index.ts';
import { card, colourAt } from '../files/video/clips.ts';
import { usePages } from './chromium.ts';

const pages = usePages();
const FPS = 12;

interface Played {
  width: number;
  height: number;
  duration: number;
  /** Colours in the middle of the card's fields, in the middle of each frame's time. */
  colours: number[][][];
}

/** Plays a file by its address. */
async function play(page: Awaited<ReturnType<typeof pages.open>>, file: Uint8Array, frames: number) {
  const base64 = Buffer.from(file).toString('base64');
  return page.evaluate(
    async ({ base64, frames, fps }): Promise<Played> => {
      const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
      const video = document.createElement('video');
      const happens = (name: string) =>
        new Promise((resolve, reject) => {
          video.addEventListener(name, resolve, { once: true });
          video.addEventListener('error', () => reject(new Error(video.error?.message)), { once: true });
        });
      const isLoaded = happens('loadeddata');
      video.src = URL.createObjectURL(new Blob([bytes], { type: 'video/mp4' }));
      await isLoaded;
      const { videoWidth: width, videoHeight: height, duration } = video;
      // A busy machine may have sought to a place and still show no frame there, or the one before.
      const shownFrame = (): VideoFrame | undefined => {
        try {
          return new VideoFrame(video);
        } catch {
          return undefined;
        }
      };
      const frameAt = async (seconds: number): Promise<VideoFrame> => {
        for (;;) {
          const frame = shownFrame();
          if (frame && Math.abs(frame.timestamp / 1e6 - seconds) < 0.5 / fps) return frame;
          frame?.close();
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      const canvas = new OffscreenCanvas(width, height);
      const context = canvas.getContext('2d', { willReadFrequently: true })!;
      const colours: number[][][] = [];
      for (let i = 0; i < frames; i++) {
        const isShown = happens('seeked');
        video.currentTime = (i + 0.5) / fps;
        await isShown;
        const frame = await frameAt(i / fps);
        context.drawImage(frame, 0, 0);
        frame.close();
        const colour = (at: number): number[] => {
          const x = Math.floor((((at % 4) + 0.5) * width) / 4);
          const y = Math.floor(((Math.floor(at / 4) + 0.5) * height) / 3);
          return [...context.getImageData(x, y, 1, 1).data].slice(0, 3);
        };
        colours.push(Array.from({ length: 12 }, (_, at) => colour(at)));
      }
      return { width, height, duration, colours };
    },
    { base64, frames, fps: FPS },
  );
}

function mostDifferent(colours: number[][][]): number {
  const differences = colours.flatMap((frame, i) =>
    frame.flatMap((colour, at) => colour.map((value, c) => Math.abs(value - colourAt(at, i)[c]!))),
  );
  return Math.max(...differences);
}

pages.test.each([
  [96, 96, 12, 96, 96],
  [98, 50, 3, 98, 50],
  // Players of FFmpeg and Chromium show odd sides as they are stored, with the last column and row twice.
  [33, 51, 3, 34, 52],
])(
  'an MP4 file of %i × %i has its frames, its rate and its colours in Chromium',
  async (width, height, frames, shownWidth, shownHeight) => {
    const file = await encodeVideo(card(width, height, frames), { format: 'mp4', fps: FPS });
    const played = await play(await pages.open(), file, frames);
    expect([played.width, played.height]).toEqual([shownWidth, shownHeight]);
    expect(played.duration).toBeCloseTo(frames / FPS, 3);
    expect(mostDifferent(played.colours)).toBeLessThanOrEqual(4);
  },
);

pages.test('a page writes the MP4 file that Node writes, and no other format', async () => {
  const clip = card(48, 32, 3);
  const page = await pages.open();
  const { encoded, refused, cancelled } = await page.evaluate(
    async ({ data, fps }) => {
      const clip = { width: 48, height: 32, frames: 3, data: Uint8Array.from(data) };
      const messageOf = (error: Error): string => error.message;
      const bytes = await svc.encodeVideo(clip, { format: 'mp4', fps });
      return {
        encoded: [...bytes],
        refused: await svc.encodeVideo(clip, { format: 'webm' }).catch(messageOf),
        cancelled: await svc
          .encodeVideo(clip, { format: 'mp4', signal: AbortSignal.abort() })
          .catch(messageOf),
      };
    },
    { data: [...clip.data], fps: FPS },
  );
  expect(Uint8Array.from(encoded)).toEqual(
    new Uint8Array(await encodeVideo(clip, { format: 'mp4', fps: FPS })),
  );
  expect(refused).toBe('pages write videos as mp4, and not as webm: take mp4');
  expect(cancelled).toBe('the video was cancelled before it was encoded');
});

pages.test('a page whose policy forbids WebAssembly is told what to allow', async () => {
  pages.route('/engine/video-worker.js', (_request, response) => {
    const headers = { 'content-type': 'text/javascript', 'content-security-policy': "script-src 'self'" };
    response.writeHead(200, headers).end("import '/engine//video-worker.js'");
  });
  pages.allow(/Content Security Policy|WebAssembly/i);
  const page = await pages.open();
  const told = await page.evaluate(async () => {
    const clip = { width: 16, height: 16, data: new Uint8Array(3 * 16 * 16) };
    return svc.encodeVideo(clip, { format: 'mp4' }).then(String, String);
  });
  expect(told).toMatch(
    /^EngineError: videos are encoded by WebAssembly, .*: allow script-src 'wasm-unsafe-eval'/,
  );
});
