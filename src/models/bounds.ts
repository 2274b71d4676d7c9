// Ranges that several numbers of foreign configurations share.

/** Range of values, both ends included. */
export type Bounds = readonly [least: number, most: number];

export const SIZE: Bounds = [1, 2 ** 16];
export const WIDTH: Bounds = [1, 2 ** 20];
export const LAYERS: Bounds = [1, 2 ** 10];
export const HEADS: Bounds = [1, 2 ** 10];
export const EXPERTS: Bounds = [1, 2 ** 12];
export const TOKENS: Bounds = [1, 2 ** 27];
export const TOKEN_ID: Bounds = [0, 2 ** 22 - 1];
export const CHANNELS: Bounds = [1, 2 ** 14];
export const EPS: Bounds = [1e-16, 1e-2];
export const TIMESTEPS: Bounds = [1, 100_000];
export const SIGMA: Bounds = [1e-6, 1e6];
export const ROTATIONS: Bounds = [1e-3, 1e5];
