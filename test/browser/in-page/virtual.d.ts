/** Test files of the bundle by their paths from the project's root. */
declare module 'virtual:test-files' {
  export const TEST_FILES: Readonly<Record<string, () => Promise<unknown>>>;
}
