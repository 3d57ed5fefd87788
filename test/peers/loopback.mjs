// Preloaded with node --import: servers that would listen on every interface
// listen on 127.0.0.1 alone, and tell their port on stderr.
import { Server } from 'node:net';

const listen = Server.prototype.listen;
Server.prototype.listen = function listenOnLoopback(port, ...rest) {
  const isPort = typeof port === 'number' || /^\d+$/.test(port);
  if (!isPort) return listen.call(this, port, ...rest);
  const whenReady = rest.find((argument) => typeof argument === 'function');
  if (whenReady) this.once('listening', whenReady);
  this.once('listening', () => console.error(`listening ${this.address().port}`));
  return listen.call(this, Number(port), '127.0.0.1');
};
