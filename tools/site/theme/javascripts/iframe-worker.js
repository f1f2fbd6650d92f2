/* A browser starts no worker from a file on disk, and the search is one: without a server its
   script runs in a frame that nobody sees. The name is the one that the offline plugin looks for. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      this.frame = frame;
      this.ready = new Promise((resolve) => {
        frame.addEventListener("load", () => {
          frame.contentWindow.postMessage = (data) =>
            this.dispatchEvent(new MessageEvent("message", { data }));
          resolve();
        });
      });
      const script = document.createElement("script");
      script.src = url;
      frame.hidden = true;
      frame.srcdoc = script.outerHTML;
      document.body.append(frame);
    }

    async postMessage(data) {
      await this.ready;
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
