import { PROCESS_USER } from '../../shared/runtime/process/process-user.ts';

/** Human-readable reason why a connection could not be established or broke. */
export function describeConnectionError(error: NodeJS.ErrnoException): string {
  const { code = '' } = error;
  switch (code) {
    case 'ECONNREFUSED':
      return 'connection refused';
    case 'ENOENT':
      return 'its socket does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'port' in error ? 'it cannot be reached' : `${PROCESS_USER} is not allowed to open its socket`;
    case 'EAGAIN':
      return 'the queue of its socket is full';
    case 'ECONNRESET':
    case 'EPIPE':
      return 'it closed the connection';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'its name cannot be resolved';
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
      return 'it cannot be reached';
    default:
      if (code.startsWith('HPE_')) return 'its response is not valid HTTP';
      return `${error.message}${code === '' || error.message.includes(code) ? '' : ` (${code})`}`;
  }
}
