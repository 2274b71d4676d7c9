// The bound on the prepared media of all requests: equal ones count once, and leave with the last request that has them.

import { expect, it } from 'vitest';
import { HeldMedia } from '../../../../src/engine/text/media/media-room.ts';
import { MediaRoom } from '../../../../src/engine/text/media/media-room.ts';
import type { Medium } from '../../../../src/engine/text/towers/medium.ts';
import type { PreparedMedium } from '../../../../src/models/media.ts';

const medium = (key: string, values = 10): Medium => ({
  kind: 'image',
  key,
  prepared: {
    parts: [1],
    inputs: { values: { shape: [values], data: new Float32Array(values) } },
  } as unknown as PreparedMedium,
});

it('the room of a medium is freed by the last request that ends', () => {
  const all = new HeldMedia(100);
  const requests = [0, 1, 2].map(() => new AbortController());
  const rooms = requests.map(({ signal }) => new MediaRoom(1000, all, signal));
  for (const room of rooms.slice(0, 2)) {
    room.take(medium('a'), 'messages.0.content.0');
    room.take(medium('a'), 'messages.0.content.1');
  }
  rooms[0]!.take(medium('b'), 'messages.0.content.2');
  expect(all.bytes).toBe(80);
  expect(() => rooms[2]!.take(medium('c'), 'messages.0.content.0')).toThrow(
    expect.objectContaining({
      code: 'overloaded',
      param: 'messages.0.content.0',
      message: expect.stringContaining('take 1 of 1 MiB: send it again later, or smaller') as string,
    }),
  );
  rooms[2]!.take(medium('b'), 'messages.0.content.1');
  requests[0]!.abort();
  expect(all.bytes).toBe(80);
  requests[2]!.abort();
  expect(all.bytes).toBe(40);
  requests[1]!.abort();
  expect(all.bytes).toBe(0);
});

it('the room for media of all requests does not refuse a single request, nor bytes that are only counted', () => {
  const all = new HeldMedia(10);
  const alone = new AbortController();
  new MediaRoom(1000, all, alone.signal).take(medium('a'), 'a');
  new MediaRoom(1000, all).take(medium('b'), 'b');
  expect(all.bytes).toBe(40);
  alone.abort();
  expect(all.bytes).toBe(0);
  expect(() => new MediaRoom(1000, all, alone.signal).take(medium('a'), 'a')).toThrow(
    expect.objectContaining({ code: 'cancelled' }),
  );
});
