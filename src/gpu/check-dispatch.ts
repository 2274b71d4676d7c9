// Checks of a dispatch when it is recorded: operands and arguments by name, tensors of the tape and of its device, binding sizes and
// workgroup counts.

import { BindingError } from './gpu-error.ts';
import { sameNames } from './args.ts';
import type { Device } from './device.ts';
import type { Dispatch, Groups } from './dispatch.ts';
import type { LinkedShader } from './linker.ts';
import { spanOf, tensorOf } from './operand.ts';
import type { Region, Sizes, TensorOwner } from './tensor.ts';

/** Throws for operands that a tape cannot record, BindingError for one above the adapter's binding limit. */
export function checkDispatch(
  { device, capacity }: { device: Device; capacity: Sizes },
  tape: TensorOwner,
  shader: LinkedShader,
  { args = {}, bind }: Dispatch,
): void {
  const { name } = shader;
  const operands = shader.bindings.filter(({ type }) => type !== 'uniform').map((binding) => binding.name);
  sameNames(name, 'operands', operands, Object.keys(bind));
  const fields = shader.args.map((field) => field.name);
  sameNames(name, 'arguments', fields, Object.keys(args));
  for (const [key, operand] of Object.entries(bind)) {
    const tensor = tensorOf(operand);
    if (tensor && tensor.tape !== null && tensor.tape !== tape)
      throw new Error(`${name}: ${key} was recorded on another tape`);
    if (tensor && tensor.tape === null && tensor.region === null)
      throw new Error(`${name}: ${key} has no bytes yet: place it before it is recorded`);
    const region = tensor ? tensor.region : (operand as Region);
    if (region && !device.owns(region.buffer)) throw new Error(`${name}: ${key} lies on another device`);
    if (
      region &&
      device.host.owns(region.buffer) &&
      shader.bindings.some((b) => b.name === key && b.type !== 'read-only-storage')
    )
      throw new Error(`${name}: ${key} is not on the device, and the kernel would write to a copy of it`);
    const size = spanOf(operand, capacity);
    const limit = device.capabilities.bindingLimit;
    if (size > limit) throw new BindingError(`${name}: ${key}`, size, limit);
  }
}

/**
 * Throws for more workgroups than the adapter runs. Without validation a count above the limit is undefined behaviour. Counts grow
 * with the sizes, so checking the capacity suffices.
 */
export function checkGroups(
  { capabilities: { maxWorkgroups } }: Device,
  shader: string,
  groups: Groups,
): void {
  if (groups.some((count) => count !== undefined && count > maxWorkgroups)) {
    throw new Error(
      `${shader}: ${groups.join(' × ')} workgroups, the adapter takes ${maxWorkgroups} a dimension`,
    );
  }
}
