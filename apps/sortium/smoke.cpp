#include <sortium/sortium.hpp>
#include <cstdio>
#include <chrono>
#include <random>
#include <algorithm>
using namespace sortium;
int main(int c,char**v){
  try{
  for(auto&d:devices()){ auto&k=capabilities(*d); printf("%s %s cu %u wg %u local %lu sg %u %s fp %d\n",d->info().id.c_str(),d->info().name.c_str(),k.compute_units,k.max_work_group,k.local_memory,k.sub_group_size,std::string(name(k.sub_group_words)).c_str(),k.forward_progress);}
  size_t n=c>1?atol(v[1]):1000000; std::mt19937 g(1);
  for(std::string alg: {"lsd|","lsd|variant=gpu","radix|","radix|r=5,items=16,groups=16,transpose=on"}){
    auto bar=alg.find('|'); Options o; o.algorithm=alg.substr(0,bar); o.parameters=alg.substr(bar+1); if(c>2)o.device=v[2];
    std::vector<uint32_t> k(n); for(auto&x:k)x=g(); auto e=k; std::vector<float> f(n);
    auto t0=std::chrono::steady_clock::now(); std::stable_sort(e.begin(),e.end()); double ts=std::chrono::duration<double>(std::chrono::steady_clock::now()-t0).count();
    auto k2=k; auto ord=argsort(k2,o); bool aok=true; for(size_t i=0;i<n;i++) aok&=k[ord[i]]==e[i];
    auto r=sort(k,o); r= (k=k2, sort(k,o));
    printf("%s [%s]: plan %.3f transfer %.3f sort %.4f s  std %.4f %s %s\n",alg.c_str(),r.parameters.c_str(),r.plan_seconds,r.transfer_seconds,r.sort_seconds,ts,k==e?"OK":"BAD",aok?"OK":"BAD");
  }
  }catch(const Error&e){printf("%s\n%s\n",e.what(),e.log().c_str());return 1;}
}
