import { expect, it } from 'vitest';
import { Scope } from '../../../../src/engine/image/recording/scope.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { Tensor } from '../../../../src/gpu/tensor.ts';

/** A scope that owns two resources and a tensor, and the names of those that were freed. */
function filled(): { scope: Scope; freed: string[] } {
  const freed: string[] = [];
  const free = ({ label }: GPUBuffer): void => void freed.push(label);
  const scope = new Scope({ free } as Pick<Device, 'free'> as Device);
  const resource = (name: string): Disposable => ({ [Symbol.dispose]: () => void freed.push(name) });
  scope.use(resource('scalars'));
  const buffer = { label: 'latents' } as GPUBuffer;
  scope.hold(new Tensor([1], 'f32', { region: { buffer, offset: 0, size: 4 } }));
  scope.use(resource('recording'));
  return { scope, freed };
}

it('a scope frees the latest resource first, once', () => {
  const { scope, freed } = filled();
  scope[Symbol.dispose]();
  scope[Symbol.dispose]();
  expect(freed).toEqual(['recording', 'latents', 'scalars']);
});

it('a scope frees no resource that was moved or released', () => {
  const moved = filled();
  const owner = moved.scope.move();
  moved.scope[Symbol.dispose]();
  expect(moved.freed).toEqual([]);
  owner[Symbol.dispose]();
  expect(moved.freed).toEqual(['recording', 'latents', 'scalars']);
  const released = filled();
  released.scope.release();
  released.scope[Symbol.dispose]();
  expect(released.freed).toEqual([]);
});
