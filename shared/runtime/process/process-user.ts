import { userInfo } from 'node:os';

/** The user that this process runs as, for messages; a container's user may have no name. */
export const PROCESS_USER = whoWeAre();

function whoWeAre(): string {
  const id = process.getuid?.();
  try {
    return `the user ${userInfo().username}`;
  } catch {
    // The user has no entry in the user database.
    return id === undefined ? 'the user of this process' : `the user ${id}`;
  }
}
