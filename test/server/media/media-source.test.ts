import { expect, it } from 'vitest';
import { ByteBudget, HeldBytes, MediaSource } from '../../../src/server/media/media-source.ts';

it('the bytes of all requests are counted together until they are released', () => {
  const source = new MediaSource('image', '', 'media.0');
  const held = new HeldBytes();
  const budgets = Array.from({ length: 5 }, () => new ByteBudget(100, held));
  for (const budget of budgets.slice(0, 4)) budget.take(100, source);
  const last = (): void => budgets[4]!.take(1, source);
  expect(last).toThrow(
    'media.0 brings the media of all requests above the limit of 400 bytes together (4 times --max-media-bytes); send the request again once others have ended',
  );
  budgets[0]!.release();
  budgets[0]!.release();
  budgets[0]!.take(100, source); // a read that ended late
  expect(held.used).toBe(300);
  expect(last).not.toThrow();
});
