import { describe, expect, it } from 'vitest';
import { PagePool } from '../../../../src/engine/text/kv/pages.ts';
import { randomInteger } from '../../random.ts';

describe('the page pool', () => {
  it('hands out every page once, then none', () => {
    const pool = new PagePool(5);
    const pages = Array.from({ length: 6 }, () => pool.take());
    expect(new Set(pages)).toEqual(new Set([0, 1, 2, 3, 4, undefined]));
    expect(pool).toMatchObject({ total: 5, free: 0, touched: 5 });
  });

  it('takes up untouched pages only when no returned one is left', () => {
    const pool = new PagePool(100);
    const first = [pool.take()!, pool.take()!, pool.take()!];
    pool.give(first);
    const again = [pool.take(), pool.take(), pool.take()];
    expect(new Set(again)).toEqual(new Set(first));
    expect(pool.touched).toBe(3);
    expect(pool.take()).toBe(3);
    expect(pool.touched).toBe(4);
  });

  it('never hands out a page that somebody holds', () => {
    const random = randomInteger(3);
    const pool = new PagePool(17);
    const held: number[] = [];
    for (let step = 0; step < 1000; step++) {
      if (random(2) === 0) {
        const page = pool.take();
        expect(page === undefined).toBe(held.length === 17);
        if (page !== undefined) {
          expect(held).not.toContain(page);
          held.push(page);
        }
      } else {
        pool.give(held.splice(random(held.length + 1)));
      }
      expect(pool.free).toBe(17 - held.length);
    }
  });
});
