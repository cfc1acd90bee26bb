import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Faults } from '../../exchange/faults.ts';
import { Disks, type DiskTools } from './disk.ts';
import { HotFiles } from './hot-files.ts';

/** The descriptors of files that are being sent, which clients that read slowly keep open. */
export type FileBudget = {
  /** Counts one more. @returns whether it is within the limit. */
  enterFile(): boolean;
  leaveFile(): void;
};

/** What the file servers of a worker share. */
export type FileTools = DiskTools & { readonly clock: Clock; readonly hot: HotFiles; readonly descriptors: FileBudget };

export const fileTools = (clock: Clock, faults: Faults, descriptors: FileBudget): FileTools => ({
  clock,
  faults,
  descriptors,
  disks: new Disks(clock, faults),
  hot: new HotFiles(clock),
});
