// Packs rows of a checkpoint's tensors into the layout of a matrix.

import type { Device } from '../gpu/device.ts';
import { Tape } from '../gpu/tape.ts';
import type { Region } from '../gpu/tensor.ts';
import type { SourceFormat } from './formats.ts';
import { reaches, weightOperands, type Matrix, type MatrixPart } from './matrix.ts';

/** Packs the rows of `raw`, in the checkpoint's format, that belong to a part, into the windows that they reach; quantizes if a window's format requires it. */
export function packRows(
  device: Device,
  matrix: Matrix,
  part: MatrixPart,
  chunk: { raw: Region; source: SourceFormat; firstRow: number; rows: number },
): void {
  const tape = new Tape(device, {});
  for (const window of matrix.windows.filter((window) => reaches(part, window))) {
    const { name, packing } = window.format;
    if (!window.format.sources.includes(chunk.source))
      throw new Error(`${name} is not packed from ${chunk.source}`);
    const isStored = packing === 'stored';
    tape.dispatch(isStored ? 'repack.wgsl' : 'pack.wgsl', {
      params: { W: name, ...(isStored ? {} : { SOURCE: chunk.source, WINOGRAD: matrix.winograd }) },
      args: {
        rows: chunk.rows,
        k: matrix.k,
        taps: matrix.taps,
        blocks: matrix.blocks,
        first_row: chunk.firstRow - part.firstRow,
        part_rows: part.rows,
        unit: part.placement.unit,
        unit_stride: part.placement.unitStride,
        first_column: part.placement.firstColumn,
        first_group: window.firstGroup,
        groups: window.groups,
      },
      bind: { raw: chunk.raw, ...weightOperands(window) },
      groups: () => [Math.ceil(chunk.rows / 64), matrix.blocks],
    });
  }
  tape.finish();
  tape.run({});
  tape.destroy();
}
