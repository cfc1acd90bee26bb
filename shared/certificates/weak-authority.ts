import { codeOf } from '../runtime/error-code.ts';
import { tls } from '../runtime/node-on-demand.ts';
import { remembered } from '../values/remembered.ts';

const TOO_SMALL = 'ERR_SSL_EE_KEY_TOO_SMALL';

/** There are few authorities, and each is in the chains of many certificates. */
const MAX_REMEMBERED = 256;

/**
 * Whether the library refuses every chain that has this certificate (PEM), because its key is too weak, as RSA of 1,024 bits. What is too
 * weak is decided by the library, and by how the system has configured it.
 */
export const isTooWeak = remembered((certificate): boolean => {
  try {
    tls().createSecureContext({ cert: certificate });
    return false;
  } catch (error) {
    // Keys of other kinds than those of servers are for authorities only.
    return codeOf(error) === TOO_SMALL;
  }
}, MAX_REMEMBERED);
