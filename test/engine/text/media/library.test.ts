// What conversations may hold, and the decoding of their media: once for all requests, within a time, and no longer than a request waits.

import { describe, expect, it, vi } from 'vitest';
import { MediaLibrary } from '../../../../src/engine/text/media/library.ts';
import { MediaRoom } from '../../../../src/engine/text/media/media-room.ts';
import { readLastTurns } from '../../../../src/engine/text/request/turns.ts';
import type { ChatMessage, ContentPart } from '../../../../src/engine/text/calls/text-request.ts';
import { EngineError } from '../../../../src/files/error.ts';
import { takenText } from '../../../../src/files/media/media-nouns.ts';
import type { Pixels } from '../../../../src/files/image/pixels.ts';
import type { Sound } from '../../../../src/files/media/decoded.ts';
import type { MediaDecoders } from '../../../../src/files/media/decoders.ts';
import { openChatTemplate } from '../../../../src/files/template/template.ts';
import type { MediaModel, PreparedMedium, Preparation } from '../../../../src/models/media.ts';

const prepared = (data: Float32Array<ArrayBuffer>): PreparedMedium => ({
  parts: [data.length],
  token: '<x>',
  tower: 'tower',
  inputs: { values: { shape: [data.length], data } },
  layout: null,
});

/** Each value takes a row. */
function* inPieces(data: Float32Array<ArrayBuffer>): Preparation {
  yield data.length;
  made.push(data.length);
  return prepared(data);
}
/** Numbers of the values that were computed. */
const made: number[] = [];

const MODEL: MediaModel = {
  readers: {
    image: {
      placeholder: '<image>',
      alpha: 'dropped',
      prepare: ({ data }) => inPieces(Float32Array.from(data)),
    },
    video: { placeholder: '<video>', frames: () => [0], prepare: () => inPieces(new Float32Array(1)) },
    audio: {
      placeholder: '<audio>',
      rate: 16_000,
      prepare: ({ samples }) => inPieces(Float32Array.from(samples)),
    },
  },
  towers: {},
  spans: false,
};

const BOUNDS = { maxImagePixels: 1e4, maxVideoPixels: 1e4, maxVideoFrames: 9, maxMediaSeconds: 9 };
const ALL = template("{% if part.type != 'text' %}<{{ part.type }}>{% else %}{{ part.text }}{% endif %}");

/** A template that prints each part so. */
function template(part: string) {
  const source = `{% for message in messages %}{% for part in message.content %}${part}{% endfor %}{% endfor %}`;
  return openChatTemplate({ default: source }, {});
}

function library(
  decoders: Partial<MediaDecoders> = {},
  { shown = ALL, mediaDecodeTimeout = 60_000 } = {},
): MediaLibrary {
  const refuse = () => Promise.reject(new Error('is not to be decoded'));
  const all = { image: refuse, video: refuse, audio: refuse, ...decoders };
  return new MediaLibrary(MODEL, shown, all, { ...BOUNDS, mediaDecodeTimeout });
}

const message = (...content: ContentPart[]): ChatMessage[] => [{ role: 'user', content }];
const FILE = message({ type: 'image', image: Uint8Array.of(1, 2, 3) });
const PIXELS: Pixels = { width: 1, height: 1, data: Uint8Array.of(4, 5, 6) };

describe('the kinds of media of a model are those that its chat template prints', () => {
  it.each([
    ['all', ALL, ['image', 'video', 'audio']],
    ['one', template("{% if part.type == 'image' %}<image>{% endif %}{{ part.text }}"), ['image']],
    ['texts only, which get placeholders', openChatTemplate({ default: '{{ messages[0].content }}' }, {}), 3],
    ['another text', template('{{ part.text }}<picture>'), []],
    [
      'an error',
      template("{% if part.type == 'image' %}{{ raise_exception('no') }}{% endif %}<audio>"),
      ['audio'],
    ],
    ['no template', openChatTemplate(null, {}), []],
  ])('%s', async (_, shown, kinds) => {
    const own = library({}, { shown });
    if (typeof kinds === 'number') expect(own.kinds).toHaveLength(kinds);
    else expect(own.kinds).toEqual(kinds);
    expect(Object.keys(own.shown.media!)).toEqual(own.kinds);
    if (own.kinds.includes('video')) return;
    const read = own.read(message({ type: 'video', video: Uint8Array.of(1) }), {}, undefined);
    await expect(read).rejects.toMatchObject({
      code: 'unsupported',
      message: `messages.0.content.0 is a part of type video, and this model takes ${takenText(own.kinds)} only: leave it out`,
    });
  });
});

/** A decoder of images that waits until its signal aborts, or `finish` is called. */
function slow() {
  const signals: AbortSignal[] = [];
  let finish = (): void => {};
  const image: MediaDecoders['image'] = (_, _name, { signal }) => {
    signals.push(signal!);
    return new Promise((resolve) => (finish = () => resolve(PIXELS)));
  };
  return { signals, image, finish: () => finish() };
}

const decoding = (signals: readonly AbortSignal[]) => vi.waitFor(() => expect(signals).toHaveLength(1));

describe('media that do not fit', () => {
  const FOUR = new Float32Array(4);
  const sound = (samples: Float32Array): ContentPart => ({ type: 'audio', audio: { rate: 16_000, samples } });

  it('are refused before their values are computed, and before later ones are read', async () => {
    const own = library();
    const read = (...content: ContentPart[]) =>
      own.read(message(...content), {}, undefined, { room: new MediaRoom(10) });
    const before = made.length;
    await expect(read(sound(new Float32Array(10)))).rejects.toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringContaining('the prompt is too long: 10 tokens > 9') as string,
    });
    expect(made).toHaveLength(before);
    const several = [4, 5, 6].map((count) => sound(FOUR.map(() => count)));
    await expect(read(...several, { type: 'video' } as ContentPart)).rejects.toMatchObject({
      code: 'context_length_exceeded',
    });
    expect((await read(sound(FOUR), sound(FOUR.map(() => 4)))).size).toBe(2);
  });

  it('are dropped with the oldest turns where the request allows it, and are not prepared', async () => {
    const user = (samples: number): ChatMessage => ({
      role: 'user',
      content: [sound(new Float32Array(samples))],
    });
    const turns = [user(7), user(3), user(4)];
    const reading = { limits: {}, context: 10, signal: undefined };
    const { messages, media } = await readLastTurns(library(), turns, reading);
    expect(messages).toEqual(turns.slice(1));
    expect([...media.keys()]).toHaveLength(2);
    await expect(readLastTurns(library(), [user(3), user(12)], reading)).rejects.toMatchObject({
      code: 'context_length_exceeded',
    });
  });
});

it('each request that waits for a medium gets its error under its own name', async () => {
  const image: MediaDecoders['image'] = async (_, name) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    throw new EngineError('bad_request', `${name} is torn`, { param: name });
  };
  const own = library({ image });
  const [part] = FILE[0]!.content as ContentPart[];
  const reads = [FILE, message({ type: 'text', text: 'a' }, part!)].map((one) =>
    own.read(one, {}, undefined),
  );
  const failed = await Promise.all(reads.map((read) => read.catch((error: unknown) => error)));
  for (const [i, error] of failed.entries())
    expect(error).toMatchObject({
      param: `messages.0.content.${i}.image`,
      message: `messages.0.content.${i}.image is torn`,
    });
});

it('other work runs while a medium is prepared, and preparing ends when no request waits', async () => {
  let pieces = 0;
  const model: MediaModel = {
    ...MODEL,
    readers: {
      image: {
        ...MODEL.readers.image!,
        *prepare() {
          for (;;) {
            const end = performance.now() + 2;
            while (performance.now() < end);
            pieces++;
            yield;
          }
        },
      },
    },
  };
  const decoders = { image: () => Promise.resolve(PIXELS) } as unknown as MediaDecoders;
  const own = new MediaLibrary(model, ALL, decoders, BOUNDS);
  const leaving = new AbortController();
  const read = own.read(FILE, {}, leaving.signal);
  setTimeout(() => leaving.abort(), 30);
  await expect(read).rejects.toMatchObject({ code: 'cancelled' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  const done = pieces;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(pieces).toBe(done);
  const late = new MediaLibrary(model, ALL, decoders, { ...BOUNDS, mediaDecodeTimeout: 20 });
  await expect(late.read(FILE, {}, undefined)).rejects.toMatchObject({ code: 'bad_request' });
});

describe('decoding a medium', () => {
  it('is done once for requests that wait at the same time, and for those that come later', async () => {
    const { signals, image, finish } = slow();
    const own = library({ image });
    const both = [own.read(FILE, {}, undefined), own.read(structuredClone(FILE), {}, undefined)];
    await decoding(signals);
    finish();
    const media = [...(await Promise.all(both)), await own.read(structuredClone(FILE), {}, undefined)];
    expect(signals).toHaveLength(1);
    expect(signals[0]!.aborted).toBe(false);
    const [first, ...others] = media.map((read) => [...read.values()][0]);
    for (const other of others) expect(other).toBe(first);
  });

  it('goes on while one request waits, ends with the last, and begins anew for the next', async () => {
    const { signals, image, finish } = slow();
    const own = library({ image });
    const leaving = [new AbortController(), new AbortController()];
    const reads = leaving.map(({ signal }) => own.read(FILE, {}, signal));
    for (const read of reads) read.catch(() => {});
    await decoding(signals);
    leaving[0]!.abort();
    await expect(reads[0]).rejects.toMatchObject({ code: 'cancelled' });
    expect(signals[0]!.aborted).toBe(false);
    leaving[1]!.abort();
    await expect(reads[1]).rejects.toMatchObject({ code: 'cancelled' });
    expect(signals[0]!.aborted).toBe(true);
    const next = own.read(FILE, {}, undefined);
    await vi.waitFor(() => expect(signals).toHaveLength(2));
    finish();
    expect((await next).size).toBe(1);
  });

  it('takes no longer than the limit', async () => {
    const { signals, image } = slow();
    const read = library({ image }, { mediaDecodeTimeout: 20 }).read(FILE, {}, undefined);
    await expect(read).rejects.toMatchObject({
      code: 'bad_request',
      param: 'messages.0.content.0.image',
      message: expect.stringContaining(
        'was not decoded within 0.02 seconds (`mediaDecodeTimeout`)',
      ) as string,
    });
    expect(signals[0]!.aborted).toBe(true);
  });
});

it('samples at another rate are resampled as a file with them is', async () => {
  const samples = Float32Array.from({ length: 800 }, (_, i) => Math.sin(i / 9));
  const sound: Sound = { samples, rate: 8000 };
  const read = await library().read(message({ type: 'audio', audio: sound }), {}, undefined);
  const { data } = [...read.values()][0]!.prepared.inputs['values']!;
  expect(data).toHaveLength(1600);
  const middle = [...data.subarray(400, 1200)];
  const worst = middle.reduce(
    (most, value, i) => Math.max(most, Math.abs(value - Math.sin((400 + i) / 18))),
    0,
  );
  expect(worst).toBeLessThan(1e-3);
});
